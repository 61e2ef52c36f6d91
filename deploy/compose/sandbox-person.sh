#!/bin/sh
# Stores a made-up person in the vault of the worker of docker-compose.yml, as `orchestrator dev`
# does, so that bookings at the sandbox have somebody to be made for.
#
#   sh deploy/compose/sandbox-person.sh
#
# Values of real people are asked for, so that they stay out of your shell's history:
#   docker compose exec worker orchestrator pii traveler_name
set -eu

keep() { # NAME VALUE
    docker compose exec -T worker orchestrator pii "$1" --value "$2"
}

keep traveler_id 'TRV-48213'
keep traveler_name 'Ada Example'
keep traveler_email 'ada@example.com'
keep traveler_phone '+4915112345678'
keep employee_id 'EMP-00042'
keep payment_method_id 'PM-77120'
