import { hostname } from 'node:os'
import type { Log } from '../../core/log.ts'
import type { Meters } from './meters.ts'
import type { Spans } from './spans.ts'

/** Exports of a process over OTLP (HTTP, JSON). A failing collector delays nothing else. */
export interface Telemetry {
  readonly spans: Spans
  /** Exports the metrics that `/metrics` shows of this process, without the money. */
  exportMetrics(meters: Meters): void
  /** Sends what is pending and stops. */
  close(): Promise<void>
}

/** Opens the export of spans and of the lines of a log to a collector. */
export async function openTelemetry(url: string, version: string, log: Log): Promise<Telemetry> {
  const [{ resourceFromAttributes }, { openSpans }, { exportLog }, { exportMetrics }] =
    await Promise.all([
      import('@opentelemetry/resources'),
      import('./spans.ts'),
      import('./log-export.ts'),
      import('./metric-export.ts'),
    ])
  const resource = resourceFromAttributes({
    'service.name': 'agenthub',
    'service.version': version,
    'service.instance.id': `${hostname()}-${process.pid}`,
  })
  const collector = { url: url.replace(/\/$/, ''), resource, version }
  await using scope = new AsyncDisposableStack()
  const spans = await openSpans(collector)
  scope.defer(() => spans.close())
  scope.defer(exportLog(log, collector))
  const opened = scope.move()
  return {
    spans,
    exportMetrics(meters) {
      opened.defer(exportMetrics(meters.registries, collector))
    },
    close: () => opened.disposeAsync(),
  }
}
