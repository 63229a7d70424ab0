# docker build -t toolwharf .
# docker run -d -p 127.0.0.1:8080:8080 -v toolwharf-data:/data --read-only --name toolwharf toolwharf
#
# Everything comes from the lock file, nothing runs an install script, and nothing is written outside /data at run time.
# The same Node as in package.json, for every stage.
ARG NODE_VERSION=24.21.0

# The bundle: the program with its packages. Bundler and compiler are platform packages, optional dependencies, so optional ones stay here. With
# them comes a Node for glibc that cannot run on Alpine; `npm run` would prefer it, so the build is started by the image's own.
FROM node:${NODE_VERSION}-alpine AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json README.md LICENSE CHANGELOG.md ./
COPY docs ./docs
COPY src ./src
RUN node src/packaging/build.js

# Nothing but the bundle and its documentation: no packages, no native code.
FROM node:${NODE_VERSION}-alpine
LABEL org.opencontainers.image.title="toolwharf" \
      org.opencontainers.image.description="A self-hosted gateway that gives any chat model tools" \
      org.opencontainers.image.licenses="MIT"
ENV HOST=0.0.0.0 \
    PORT=8080 \
    TOOLWHARF_DATA_DIR=/data \
    NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/compile-cache
WORKDIR /app
COPY --from=build /app/dist ./
COPY --from=build /app/src/packaging/fill-compile-cache.js ./
# A new volume takes over the owner of the folder it covers. Numbers, because Kubernetes cannot check names for `runAsNonRoot`.
RUN mkdir -m 700 /data && mkdir compile-cache && chown 1000:1000 /data compile-cache
USER 1000:1000
# What V8 has compiled comes along: the first start is as fast as all others. With the flags of ENTRYPOINT; read from then on, never written.
RUN node --max-semi-space-size=16 fill-compile-cache.js toolwharf.js && chmod -R a-w compile-cache
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/toolwharf.js", "healthcheck"]
# Node itself is process 1 and gets the signals; the gateway handles SIGTERM, starts no processes, and so needs no init in front.
# Answers may finish for DRAIN_TIMEOUT_MS: `docker stop --time 35`.
# Without a bound the young part of the heap grows to 128 MB under a thousand streams, and answers no faster for it.
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/toolwharf.js"]
CMD ["serve"]
