import type { Pool } from 'pg'
import type { RecentReads } from '../../core/db/recent-reads.ts'

/** Age of what a page shows: that of its oldest data which may be some seconds old. */
export class DataAge {
  #asOf: Date | undefined

  /** Undefined if all data is current. */
  get asOf(): Date | undefined {
    return this.#asOf
  }

  /** @param asOf undefined: the data is current */
  note(asOf: Date | undefined): void {
    if (asOf !== undefined && (this.#asOf === undefined || asOf < this.#asOf)) this.#asOf = asOf
  }
}

/** Renders a page of data that may be some seconds old. `render` may run twice. */
export async function renderRecent<T>(
  reads: RecentReads,
  { dataAge }: { readonly dataAge: DataAge },
  render: (pool: Pool) => Promise<T>,
): Promise<T> {
  const { result, asOf } = await reads.read(render)
  dataAge.note(asOf)
  return result
}
