# One image for the worker, the sandbox and the command line.
FROM python:3.12-slim

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# The state folder belongs to the user before a volume is mounted on it: a new volume takes its
# owner from here.
RUN useradd --system --create-home --uid 10001 orchestrator \
    && install --directory --owner orchestrator /var/lib/orchestrator

WORKDIR /app

# The lock changes less often than the code, so it has its own layer.
COPY requirements.lock ./
RUN python -m pip install --only-binary :all: --require-hashes --requirement requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY orchestrator ./orchestrator
COPY workflows ./workflows
COPY activities ./activities
COPY specs ./specs
RUN python -m pip install --no-deps --no-build-isolation --no-index .

USER orchestrator
CMD ["orchestrator", "worker"]
