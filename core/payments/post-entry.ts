import type { Ledger } from '../ledger/ledger.ts'

/** @throws Error if the ledger refuses the entry, which an operator then has to investigate */
export async function postEntry(
  ledger: Ledger,
  ...entry: Parameters<Ledger['post']>
): Promise<void> {
  const outcome = await ledger.post(...entry)
  if (outcome === 'applied' || outcome === 'replayed') return
  throw new Error(`${entry[0].type} ${entry[1].id} not posted: ${outcome}`)
}
