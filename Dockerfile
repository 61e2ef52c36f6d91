# One image for the worker, the sandbox and the command line. The base is pinned by its digest, and
# everything else by the hashes of two locks, so that the same commit makes the same image.
#
# The first stage has what builds; none of it, and no tool of tests, reaches the second.
FROM python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254 AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore

WORKDIR /app

# The locks change less often than the code, so they have layers of their own.
COPY deploy/image/build.lock deploy/image/runtime.lock ./
RUN python -m pip install --only-binary :all: --require-hashes --requirement build.lock
RUN python -m venv --without-pip /opt/orchestrator
RUN python -m pip --python /opt/orchestrator/bin/python install --only-binary :all: --require-hashes --requirement runtime.lock

COPY pyproject.toml README.md LICENSE ./
COPY orchestrator ./orchestrator
COPY workflows ./workflows
COPY activities ./activities
COPY specs ./specs
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /tmp/wheels .
RUN python -m pip --python /opt/orchestrator/bin/python install --no-deps --no-index --find-links /tmp/wheels orchestrator-missions
# The second stage runs on a root that nobody may write: what is not compiled now never is.
RUN /opt/orchestrator/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/orchestrator/lib

FROM python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254

# The state folder belongs to the user before a volume is mounted on it: a new volume takes its
# owner from here.
RUN install --directory --owner 10001 --group 10001 /var/lib/orchestrator

ENV HOME=/var/lib/orchestrator \
    ORCHESTRATOR_STATE_DIR=/var/lib/orchestrator \
    PATH=/opt/orchestrator/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

COPY --from=build /opt/orchestrator /opt/orchestrator

# By its number, which Kubernetes can tell from root without looking into the image.
USER 10001:10001
WORKDIR /var/lib/orchestrator
CMD ["orchestrator", "worker"]
