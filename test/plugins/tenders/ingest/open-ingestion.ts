import type { Database } from 'agenthub/plugin'
import { openPlugin } from '../../../../core/catalog/services/open-plugin.ts'
import { createLog } from '../../../../core/log.ts'
import tenders from '../../../../plugins/tenders/index.ts'
import { injectedHost } from '../../../support/injected-host.ts'

/** Opens the tenders schema of an existing database. */
export async function openTendersDatabase(
  url: string,
): Promise<{ readonly database: Database; readonly close: () => Promise<void> }> {
  let database: Database | undefined
  const plugin = {
    ...tenders,
    open: (host: Parameters<typeof tenders.open>[0]) => {
      database = host.database
      return tenders.open(host)
    },
  }
  const opened = await openPlugin(plugin, {
    host: injectedHost,
    databaseUrl: url,
    log: createLog('silent'),
  })
  return { database: database!, close: () => opened.close() }
}
