import { loadWordVectors } from './meaning/word-vectors.ts'
import { loadTranslations } from './translate-query.ts'

/**
 * Loads what the first search would load at once, which would keep other requests waiting for a
 * quarter of a second.
 */
export async function loadSearch(): Promise<void> {
  await loadWordVectors()
  await loadTranslations()
}
