"""A model provider on loopback, for tests and experiments: its models are scripts."""

from orchestrator.testing.model_server.model_server import ModelReply as ModelReply
from orchestrator.testing.model_server.model_server import ModelServer as ModelServer
from orchestrator.testing.model_server.model_server import ScriptedModel as ScriptedModel
from orchestrator.testing.model_server.replies import PROVIDER_TROUBLES as PROVIDER_TROUBLES
from orchestrator.testing.model_server.replies import ConversationTurn as ConversationTurn
from orchestrator.testing.model_server.replies import ModelAnswer as ModelAnswer
from orchestrator.testing.model_server.replies import ModelCall as ModelCall
from orchestrator.testing.model_server.replies import ModelTrouble as ModelTrouble
from orchestrator.testing.model_server.replies import ReceivedRequest as ReceivedRequest
from orchestrator.testing.model_server.replies import ShownTool as ShownTool
from orchestrator.testing.model_server.replies import broken_call as broken_call
from orchestrator.testing.model_server.replies import broken_json as broken_json
from orchestrator.testing.model_server.replies import call as call
from orchestrator.testing.model_server.replies import calling as calling
from orchestrator.testing.model_server.replies import cut_body as cut_body
from orchestrator.testing.model_server.replies import cut_off_call as cut_off_call
from orchestrator.testing.model_server.replies import drop as drop
from orchestrator.testing.model_server.replies import hang as hang
from orchestrator.testing.model_server.replies import no_json as no_json
from orchestrator.testing.model_server.replies import nothing as nothing
from orchestrator.testing.model_server.replies import rate_limited as rate_limited
from orchestrator.testing.model_server.replies import refuse as refuse
from orchestrator.testing.model_server.replies import say as say
from orchestrator.testing.model_server.replies import server_error as server_error
from orchestrator.testing.model_server.replies import unauthorized as unauthorized
