import type { Clock, Database } from 'agenthub/plugin'
import { openStore } from '../store/store.ts'
import { SAMPLES } from './notices.ts'
import { documentOf } from './write.ts'

/** Samples let a sandbox without network have data until real notices are published. */
export async function loadSamples(database: Database, clock: Clock): Promise<void> {
  const { rows } = await database.query<{ empty: boolean }>(
    'SELECT NOT EXISTS (SELECT FROM snapshot WHERE closed_at IS NOT NULL) AS empty',
  )
  if (rows[0]?.empty !== true) return
  const store = openStore(database, clock)
  for (const day of [...new Set(SAMPLES.map(({ published }) => published))].sort()) {
    const samples = SAMPLES.filter(({ published }) => published === day)
    const { ojs } = samples[0]!
    const announced = samples.length
    const snapshot = await store.openSnapshot({ day, ojs, source: 'sample', announced })
    for (const sample of samples) {
      const { outcome } = await store.accept({ xml: documentOf(sample), snapshot })
      if (outcome === 'refused') throw new Error(`the sample ${sample.number} cannot be read`)
    }
    await store.closeSnapshot(snapshot)
  }
}
