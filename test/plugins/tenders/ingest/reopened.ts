import type { Database } from 'agenthub/plugin'
import { openPlugin } from '../../../../core/catalog/services/open-plugin.ts'
import { createLog } from '../../../../core/log.ts'
import tenders from '../../../../plugins/tenders/index.ts'
import { injectedHost } from '../../../support/injected-host.ts'

/** The tenders' part of a database that is there already. */
export async function reopened(
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
