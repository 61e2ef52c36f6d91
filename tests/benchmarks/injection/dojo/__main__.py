"""`python -m tests.benchmarks.injection.dojo PORT`: AgentDojo's environments over HTTP.

`... record SUITE:USER_TASK:INJECTION_TASK... > FILE` writes cases down instead, with what every
call of theirs is answered: the tests read them where AgentDojo is not installed.
"""

import json
import sys

from tests.benchmarks.injection.dojo.world import listing, open_world, recorded
from tests.benchmarks.injection.door import Door

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", *cases]:
            json.dump(recorded([tuple(case.split(":")) for case in cases]), sys.stdout)
        case [port]:
            with Door(open_world, listing, port=int(port)) as door:
                door.serve_forever()
        case _:
            sys.exit(__doc__)
