"""Hand-written behaviour for the documents that ship with the product."""

from orchestrator.sandbox.playbook import join
from orchestrator.sandbox.providers.dining import DINING
from orchestrator.sandbox.providers.office import OFFICE
from orchestrator.sandbox.providers.travel import TRAVEL
from orchestrator.sandbox.providers.weather import WEATHER

STANDARD = join([TRAVEL, DINING, OFFICE, WEATHER])

__all__ = ["STANDARD"]
