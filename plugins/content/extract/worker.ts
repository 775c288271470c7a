import type { ExtractOptions } from './article.ts'
import { type Article, type Document, type ExtractionCode, ExtractionError } from './article.ts'
import { readHere } from './read.ts'

export interface Task {
  readonly document: Document
  readonly options: ExtractOptions
}

/** A refusal travels between threads as its parts, since classes do not. */
export type Outcome =
  | { readonly article: Article }
  | { readonly code: ExtractionCode; readonly detail: string }

export default async function outcomeOf({ document, options }: Task): Promise<Outcome> {
  try {
    return { article: await readHere(document, options) }
  } catch (error) {
    if (error instanceof ExtractionError) return { code: error.code, detail: error.message }
    throw error
  }
}
