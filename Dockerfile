# docker build -t toolwharf .
# docker run -d -p 127.0.0.1:8080:8080 -v toolwharf-data:/data --read-only --tmpfs /tmp --name toolwharf toolwharf
#
# All packages come from the lock file, no install script runs, and at run time the gateway writes only to /data and /tmp.
# Every stage uses the Node.js version of package.json.
ARG NODE_VERSION=24.21.0

# The bundle: the program with its packages. Bundler and compiler are optional dependencies (platform packages), so optional ones are installed here.
# They include a Node.js for glibc that cannot run on Alpine. `npm run` would prefer it, so the image's own Node.js starts the build.
FROM node:${NODE_VERSION}-alpine AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json README.md LICENSE CHANGELOG.md ./
COPY docs ./docs
COPY src ./src
RUN node src/packaging/build.js

# Only the bundle and its documentation: no packages, no native code.
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
# A new volume gets the owner of the folder that it covers. Numbers, because Kubernetes cannot check names for `runAsNonRoot`.
RUN mkdir -m 700 /data && mkdir compile-cache && chown 1000:1000 /data compile-cache
USER 1000:1000
# Include the code that V8 has compiled, so that the first start is as fast as later ones. Same flags as ENTRYPOINT; read-only from here on.
RUN node --max-semi-space-size=16 --no-flush-bytecode fill-compile-cache.js toolwharf.js && chmod -R a-w compile-cache
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/toolwharf.js", "healthcheck"]
# Node.js is process 1 and gets the signals. The gateway handles SIGTERM, so it needs no init process.
# Running answers may finish within DRAIN_TIMEOUT_MS: `docker stop --time 35`.
# Without the first flag the young generation of the heap grows to 128 MB under a thousand streams, without being faster; without the second V8 drops code
# that has not run for some seconds, and the first chats after a rest compile it again.
ENTRYPOINT ["node", "--max-semi-space-size=16", "--no-flush-bytecode", "/app/toolwharf.js"]
CMD ["serve"]
