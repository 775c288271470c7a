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

/** Real notices lie beside the repository; tests on them are skipped where they are not. */
export const DATA = new URL('../../../../shared/data/ted/', import.meta.url)
export const hasData = existsSync(DATA)

/** `describe` for real notices: it says so where they are not there, and skips. */
export const describeReal = (title: string, suite: () => void): void => {
  if (hasData) describe(title, suite)
  else describe.skip(`${title} (skipped: no real notices beside the repository)`, suite)
}

export const documentAt = (path: string): Buffer => readFileSync(new URL(path, DATA))

/** A notice as if it had been published; real ones have a number and a day. */
export const published = (xml: Uint8Array | string): Notice => readNotice(xml) as Notice

/** What real eForms notices of these numbers come to together. */
export const derived = (...numbers: string[]) =>
  derive(
    numbers.map((number) => ({
      notice: published(documentAt(`eforms/${number}.xml`)),
      sha256: number,
    })),
  )

/** A database with the tenders' schema and nothing in it, as the plugin is lent it. */
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
