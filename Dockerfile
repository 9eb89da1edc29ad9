# dprelease in a container. Specs, data, ledger and output are in one folder of the host, which the
# container sees as /release; it needs no network.
#
#   docker build -t dprelease .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/release" \
#     dprelease run release_specs/clinic_visits.toml
#
# The ledger lies in that folder too, or in another one that is mounted: never in the container,
# which is thrown away.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY dprelease ./dprelease
RUN python -m venv /opt/dprelease && /opt/dprelease/bin/pip install --no-cache-dir .

FROM python:3.13-slim
COPY --from=build /opt/dprelease /opt/dprelease
ENV PATH=/opt/dprelease/bin:$PATH
RUN useradd --create-home user
USER user
WORKDIR /release
ENTRYPOINT ["dprelease"]
CMD ["--help"]
