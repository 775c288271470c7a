import type { ExtractOptions } from './article.ts'
import { type Article, type Document, type ExtractionCode, ExtractionError } from './article.ts'
import { readDocument } from './read.ts'

export interface Task {
  readonly document: Document
  readonly options: ExtractOptions
}

/** Result of a worker; errors are sent as plain data because classes do not survive cloning. */
export type Outcome =
  | { readonly article: Article }
  | { readonly code: ExtractionCode; readonly detail: string }

export default async function outcomeOf({ document, options }: Task): Promise<Outcome> {
  try {
    return { article: await readDocument(document, options) }
  } catch (error) {
    if (error instanceof ExtractionError) return { code: error.code, detail: error.message }
    throw error
  }
}
