import { Fault } from '../../../errors.ts'
import { apart, TooMuch } from '../apart.ts'
import type { Understood } from './read.ts'

const ALLOWANCE = { deadlineMs: 20_000, heapMb: 512 } as const

type Told = { readonly understood: Understood } | { readonly detail: string }

/**
 * Reads an OpenAPI document of somebody's, as `readOpenApi` does, but in a thread of its own and
 * for 20 seconds at most.
 * @throws Fault `openapi_unreadable`; `rate_limited` while two others are read
 */
export async function readApart(text: string, only: readonly string[]): Promise<Understood> {
  try {
    const thread = new URL('./thread.ts', import.meta.url)
    const told = await apart<Told>(thread, { text, only }, ALLOWANCE)
    if ('understood' in told) return told.understood
    throw new Fault('openapi_unreadable', told.detail)
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error
    const detail = 'To read it takes too much time or memory.'
    throw new Fault('openapi_unreadable', detail, { cause: error })
  }
}
