import type { OnnxSettings } from '../llm/settings.ts'

/** Optional package, 430 MB with its runtime; the operator installs it to use this engine. */
export const PACKAGE = '@huggingface/transformers'

/** A word piece labeled by a token classifier. */
export interface LabeledToken {
  readonly entity: string
  readonly score: number
  readonly word: string
}

/** The package's pipelines, reduced to what is used. */
export interface Pipelines {
  readonly entities: (text: string) => Promise<readonly LabeledToken[]>
  readonly sentiment: (
    text: string,
  ) => Promise<readonly { readonly label: string; readonly score: number }[]>
  readonly classify: (
    text: string,
    labels: readonly string[],
    several: boolean,
  ) => Promise<{ readonly labels: readonly string[]; readonly scores: readonly number[] }>
}

type Pipeline = (...given: readonly unknown[]) => Promise<never>

/** The package, reduced to what is used. */
export interface Transformers {
  readonly env: { localModelPath: string; allowRemoteModels: boolean }
  readonly pipeline: (task: string, model: string, options: object) => Promise<Pipeline>
}

/** Creates pipelines that load on first use, only from the operator's folder. */
export const pipelinesOf = (transformers: Transformers, settings: OnnxSettings): Pipelines => {
  const { env, pipeline } = transformers
  env.localModelPath = settings.folder
  env.allowRemoteModels = false
  const opened = new Map<string, Promise<Pipeline>>()
  const open = (task: string, model = ''): Promise<Pipeline> => {
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
