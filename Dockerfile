# The server as an image: a normal user, a root that may be read-only; everything that lasts is in /data.
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /app \
    && /app/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt \
        ".[charts,otel,pdf,postgres,s3,server]"

FROM python:3.11-slim
RUN groupadd --gid 10001 research \
    && useradd --uid 10001 --gid research --no-create-home --home-dir /data --shell /usr/sbin/nologin research \
    && install --directory --owner=research --group=research --mode=0700 /data
COPY --from=build /app /app
ENV PATH="/app/bin:$PATH" \
    DEEP_RESEARCH_HOME=/data \
    DEEP_RESEARCH_LOGS=/data/logs \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 8700
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8700/ready', timeout=8)"]
ENTRYPOINT ["deep-research"]
# Outside of loopback it serves accounts only: add one first (docs/serving.md).
CMD ["serve", "--host", "0.0.0.0", "--no-open"]
