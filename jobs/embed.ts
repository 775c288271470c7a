import {
  type EmbedPorts,
  embedDocuments,
  forgetMeanings,
} from '../core/catalog/search/meaning/embed-documents.ts'

export interface EmbeddingPorts {
  /** Left out where searches go by words alone. */
  readonly embedding?: EmbedPorts | undefined
}

/** What services and listings mean is read by the engine of embeddings, where there is one. */
export const embeddingJobs = {
  'embed-documents': {
    everySeconds: 30,
    deadlineSeconds: 900,
    run: async ({ embedding }: EmbeddingPorts, stopping: AbortSignal) =>
      embedding && embedDocuments(embedding, stopping),
  },
  'forget-meanings': {
    everySeconds: 86_400,
    run: async ({ embedding }: EmbeddingPorts) => embedding && forgetMeanings(embedding),
  },
} as const
