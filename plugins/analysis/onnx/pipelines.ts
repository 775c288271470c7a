import type { OnnxSettings } from '../llm/settings.ts'

/** Optional: 430 MB with its runtime. Whoever wants this engine installs it. */
export const PACKAGE = '@huggingface/transformers'

/** A piece of a word, as token classifiers label them. */
export interface Labelled {
  readonly entity: string
  readonly score: number
  readonly word: string
}

/** What the package's pipelines answer, as far as it is used. */
export interface Pipelines {
  readonly entities: (text: string) => Promise<readonly Labelled[]>
  readonly sentiment: (
    text: string,
  ) => Promise<readonly { readonly label: string; readonly score: number }[]>
  readonly classify: (
    text: string,
    labels: readonly string[],
    several: boolean,
  ) => Promise<{ readonly labels: readonly string[]; readonly scores: readonly number[] }>
}

type Pipe = (...given: readonly unknown[]) => Promise<never>

/** The package, as far as it is used. */
export interface Transformers {
  readonly env: { localModelPath: string; allowRemoteModels: boolean }
  readonly pipeline: (task: string, model: string, options: object) => Promise<Pipe>
}

/** Pipelines that are opened when they are first used, from the operator's folder alone. */
export const pipelinesOf = (transformers: Transformers, settings: OnnxSettings): Pipelines => {
  const { env, pipeline } = transformers
  env.localModelPath = settings.folder
  env.allowRemoteModels = false
  const opened = new Map<string, Promise<Pipe>>()
  const open = (task: string, model = ''): Promise<Pipe> => {
    const pipe = opened.get(task) ?? pipeline(task, model, { local_files_only: true })
    opened.set(task, pipe)
    return pipe
  }
  return {
    async entities(text) {
      const pipe = await open('token-classification', settings.entities)
      return pipe(text, { ignore_labels: ['O'] })
    },
    async sentiment(text) {
      const pipe = await open('text-classification', settings.sentiment)
      return pipe(text, { top_k: null })
    },
    async classify(text, labels, several) {
      const pipe = await open('zero-shot-classification', settings.classify)
      return pipe(text, labels, { multi_label: several })
    },
  }
}
