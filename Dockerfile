# The two commands of README.md on a bare Debian 12 or 13:
#
#     docker build --build-arg DEBIAN=13 -t tenon . && docker run --rm tenon
#
# They install what they need themselves; the image holds Debian, make and the sources.
ARG DEBIAN=12
FROM debian:${DEBIAN}
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
COPY . /tenon
WORKDIR /tenon
CMD ["sh", "-c", "make demo && make test"]
