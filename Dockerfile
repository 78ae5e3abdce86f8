# docker build -t llm-as-judge .
# docker run --rm -it -v llm-as-judge:/home/judge llm-as-judge quickstart    # the volume keeps weights and results
# Docker refuses user namespaces, so programs run under Landlock and seccomp there (docs/sandbox.md).
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libseccomp2 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home judge
WORKDIR /home/judge/llm-as-judge
COPY --chown=judge . .
# torch from its own index: a build for the processor, without gigabytes of CUDA
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -c constraints.txt .
USER judge
RUN mkdir /home/judge/work
WORKDIR /home/judge/work
ENTRYPOINT ["llm-as-judge"]
CMD ["--help"]
