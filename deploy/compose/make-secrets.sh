#!/bin/sh
# Makes what docker-compose.yml mounts as secrets, as far as it is not there: passwords of the two
# databases, the key of the vault of personal values, and the credentials of the sandbox's tools.
#
#   sh deploy/compose/make-secrets.sh        into deploy/compose/secrets, which git does not see
#
# Compose mounts these files as they are, and the containers read them as users of their own: so the
# files may be read by all, and their folder by its owner alone.
set -eu

folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 700 "$folder"

keep() { # NAME VALUE: write the value unless the file is there
    if [ ! -e "$folder/$1" ]; then
        printf '%s\n' "$2" >"$folder/.new"
        chmod 444 "$folder/.new"
        mv "$folder/.new" "$folder/$1"
    fi
}

random() { # 32 random bytes as URL-safe base64, the form of a vault's key
    head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'
}

hex() { # 24 random bytes that need no quoting in a URL
    head -c 24 /dev/urandom | od -An -vtx1 | tr -d ' \n'
}

keep temporal_db_password "$(hex)"
keep store_password "$(hex)"
keep store_url "postgresql://orchestrator:$(cat "$folder/store_password")@store:5432/orchestrator"
keep pii_key "$(random)"
keep serve_session_key "$(random)"
keep payments_token sandbox
keep expenses_key sandbox
echo "secrets are in $folder"
