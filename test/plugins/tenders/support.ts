import { existsSync, readFileSync } from 'node:fs'
import type { Database } from 'agenthub/plugin'
import { openPlugin } from '../../../core/catalog/services/open-plugin.ts'
import { createLog } from '../../../core/log.ts'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import tenders from '../../../plugins/tenders/index.ts'
import type { Notice } from '../../../plugins/tenders/model.ts'
import { readNotice } from '../../../plugins/tenders/parse/notice.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { freshDatabase } from '../../support/postgres.ts'

/** Real notices are outside the repository; tests that need them are skipped without them. */
export const DATA = new URL('../../../../shared/data/ted/', import.meta.url)
export const hasData = existsSync(DATA)

/** `describe` for tests on real notices; reports and skips them if the files are missing. */
export const describeReal = (title: string, suite: () => void): void => {
  if (hasData) describe(title, suite)
  else describe.skip(`${title} (skipped: no real notices beside the repository)`, suite)
}

export const documentAt = (path: string): Buffer => readFileSync(new URL(path, DATA))

/** Parses a notice as if it had been published; real ones have a number and a day. */
export const readPublished = (xml: Uint8Array | string): Notice => readNotice(xml) as Notice

/** Derives tenders from real eForms notices with these numbers. */
export const deriveFrom = (...numbers: string[]) =>
  derive(
    numbers.map((number) => ({
      notice: readPublished(documentAt(`eforms/${number}.xml`)),
      sha256: number,
    })),
  )

/** An empty database with the tenders schema, as injected into the plugin. */
export async function tendersDatabase(): Promise<{
  readonly database: Database
  readonly url: string
  close(): Promise<void>
}> {
  const fresh = await freshDatabase(undefined, { empty: true })
  await fresh.admin.query('SELECT')
  let database: Database | undefined
  const opened = await openPlugin(
    {
      ...tenders,
      open: (host) => {
        database = host.database
        return tenders.open(host)
      },
    },
    { host: injectedHost, databaseUrl: fresh.url, log: createLog('silent') },
  )
  return {
    database: database!,
    url: fresh.url,
    async close() {
      await opened.close()
      await fresh.pool.end().catch(() => {})
      await fresh.drop()
    },
  }
}
