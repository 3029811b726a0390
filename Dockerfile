# syntax=docker/dockerfile:1
# The image of Isthmus. It needs no shell, no writable file and no privilege: the file system can be mounted read-only, the user has a number and no name.

FROM node:24-bookworm-slim AS runtime
# gives freed memory back to the system (docs/adr/0128-allocator-of-the-image.md)
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libmimalloc2.0 \
 && rm -rf /var/lib/apt/lists/*
ENV LD_PRELOAD=libmimalloc.so.2

FROM node:24-bookworm-slim AS build
WORKDIR /isthmus
COPY package.json package-lock.json setup.mjs ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node setup.mjs --build && rm -rf build/test build/benchmarks \
 && npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm sbom --omit=dev --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json

FROM runtime
LABEL org.opencontainers.image.title="isthmus" org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /isthmus
COPY --from=build /isthmus/package.json /isthmus/LICENSE /isthmus/sbom.cdx.json ./
COPY --from=build /isthmus/node_modules ./node_modules
COPY --from=build /isthmus/build ./build
USER 65532:65532
EXPOSE 8080 8443 9443
ENTRYPOINT ["node", "build/cli/main.js"]
CMD ["--help"]
