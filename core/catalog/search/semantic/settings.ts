/** Configuration of the embedding API. */
export interface EmbedderSettings {
  /** The root of the API, such as `https://api.openai.com/v1`. */
  readonly url: string
  readonly model: string
  readonly key: string | undefined
}

/** @returns undefined if no embedding API is configured; search then uses words only */
export const embedderSettings = ({
  HUB_EMBEDDINGS_URL: url,
  HUB_EMBEDDINGS_MODEL: model,
  HUB_EMBEDDINGS_KEY: key,
}: {
  readonly HUB_EMBEDDINGS_URL?: string | undefined
  readonly HUB_EMBEDDINGS_MODEL?: string | undefined
  readonly HUB_EMBEDDINGS_KEY?: string | undefined
}): EmbedderSettings | undefined =>
  url === undefined || model === undefined ? undefined : { url, model, key }
