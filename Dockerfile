# docker build -t toolwharf .
# docker run -d -p 127.0.0.1:8080:8080 -v toolwharf-data:/data --read-only --name toolwharf toolwharf
#
# Everything comes from the lock file, nothing runs an install script, and nothing is written outside /data at run time.
# The same Node as in package.json, for every stage.
ARG NODE_VERSION=24.21.0

# JavaScript from the sources. The compiler is a platform package, an optional dependency of `typescript`, so optional ones stay here.
# With them comes a Node for glibc that cannot run on Alpine; `npm run` would prefer it, so the build is started by the image's own.
FROM node:${NODE_VERSION}-alpine AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json README.md LICENSE CHANGELOG.md ./
COPY docs ./docs
COPY src ./src
RUN node src/packaging/build.js

# What it needs at run time: plain JavaScript, no native code, no Node.
FROM node:${NODE_VERSION}-alpine AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-alpine
LABEL org.opencontainers.image.title="toolwharf" \
      org.opencontainers.image.description="A self-hosted chat-completions gateway that gives any model tools" \
      org.opencontainers.image.licenses="MIT"
# The compile cache would be written to /tmp and be gone with the container.
ENV HOST=0.0.0.0 \
    PORT=8080 \
    TOOLWHARF_DATA_DIR=/data \
    NODE_ENV=production \
    NODE_DISABLE_COMPILE_CACHE=1
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./
# A new volume takes over the owner of the folder it covers. Numbers, because Kubernetes cannot check names for `runAsNonRoot`.
RUN mkdir -m 700 /data && chown 1000:1000 /data
USER 1000:1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/toolwharf.js", "healthcheck"]
# Node itself is process 1 and gets the signals; the gateway handles SIGTERM, starts no processes, and so needs no init in front.
# Answers may finish for DRAIN_TIMEOUT_MS: `docker stop --time 35`.
# Without a bound the young part of the heap grows to 128 MB under a thousand streams, and answers no faster for it.
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/toolwharf.js"]
CMD ["serve"]
