import { systemClock } from '../../core/clock.ts'
import type { Host, Plugin } from '../../core/plugin/index.ts'

const absent = (): never => {
  throw new Error('nothing is lent here')
}

/** What a service is declared with where it is not run: there is nothing behind it. */
export const lent: Host = {
  secret: () => undefined,
  log: () => undefined,
  http: { request: absent },
  backends: { request: absent },
  browser: { render: absent },
  clock: systemClock,
  sandbox: true,
}

const database = { query: absent, transaction: absent, reading: absent }

/** The service that a plugin declares. */
export function serviceOf(plugin: Plugin) {
  if ('open' in plugin) return plugin.open({ ...lent, database })
  return typeof plugin === 'function' ? plugin(lent) : plugin
}
