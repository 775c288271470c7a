import { Gauge, Registry } from 'prom-client'
import { withTimeout } from '../../core/clock.ts'
import type { AnyService } from '../../core/plugin/index.ts'

const READ_TIMEOUT_MS = 3_000

/** Renders the gauges that plugins declare; omits those that cannot be read. */
export async function collectPluginGauges(services: readonly AnyService[]): Promise<string> {
  const registry = new Registry()
  const gauge = new Gauge({
    name: 'hub_plugin',
    help: 'Figures that plugins report, such as notices set aside by tenders.',
    labelNames: ['service', 'name'],
    registers: [registry],
  })
  await Promise.all(
    services.map(async ({ slug: service, gauges }) => {
      const values = gauges && (await withTimeout(READ_TIMEOUT_MS, gauges()))
      for (const [name, value] of Object.entries(values ?? {})) gauge.set({ service, name }, value)
    }),
  )
  return registry.metrics()
}
