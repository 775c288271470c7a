import { systemClock } from '../../core/clock.ts'
import type { Host, Plugin } from '../../core/plugin/index.ts'

const absent = (): never => {
  throw new Error('no capability is injected here')
}

/** Host for declaring services without running them: every capability throws. */
export const injectedHost: Host = {
  secret: () => undefined,
  log: () => undefined,
  http: { request: absent },
  backends: { request: absent },
  browser: { render: absent },
  clock: systemClock,
  sandbox: true,
}

const database = { query: absent, transaction: absent, reading: absent }

/** Returns the service that a plugin declares. */
export function serviceOf(plugin: Plugin) {
  if ('open' in plugin) return plugin.open({ ...injectedHost, database })
  return typeof plugin === 'function' ? plugin(injectedHost) : plugin
}
