"""`python -m tests.benchmarks.injection.agentdojo_side PORT`: AgentDojo's environments over HTTP.

`... record SUITE:USER_TASK:INJECTION_TASK... > FILE` writes cases down instead, with what every
call of theirs is answered: the tests read them where AgentDojo is not installed.
"""

import json
import sys

from tests.benchmarks.injection.agentdojo_side.environments import (
    listing,
    open_environment,
    recorded,
)
from tests.benchmarks.injection.environment_server import EnvironmentServer

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", *cases]:
            json.dump(recorded([tuple(case.split(":")) for case in cases]), sys.stdout)
        case [port]:
            with EnvironmentServer(open_environment, listing, port=int(port)) as server:
                server.serve_forever()
        case _:
            sys.exit(__doc__)
