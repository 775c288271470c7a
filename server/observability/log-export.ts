import { ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api'
import { SeverityNumber } from '@opentelemetry/api-logs'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { type Log, onLogLine } from '../../core/log.ts'
import type { Collector } from './collector.ts'

/** Line of the log, as pino writes it. */
interface LogLine {
  readonly level: number
  readonly time: string
  readonly msg?: string
  /** Ids of a request's trace and span, in hexadecimal. */
  readonly trace?: string
  readonly span?: string
}

/** Severity of each level of pino. */
const SEVERITIES: Readonly<Record<number, keyof typeof SeverityNumber>> = {
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
}

/**
 * Exports each line of a log, without secrets as it was written, until the returned function stops
 * it. Lines beyond the queue of a slow collector are dropped there, not in the log.
 */
export function exportLog(log: Log, { url, resource, version }: Collector): () => Promise<void> {
  const exporter = new OTLPLogExporter({ url: `${url}/v1/logs` })
  const processors = [new BatchLogRecordProcessor({ exporter })]
  const provider = new LoggerProvider({ resource, processors })
  const logger = provider.getLogger('agenthub', version)
  const stop = onLogLine(log, (line) => {
    const {
      level,
      time,
      msg,
      trace: traceId,
      span: spanId,
      ...attributes
    }: LogLine = JSON.parse(line)
    const severity = SEVERITIES[level] ?? 'INFO'
    logger.emit({
      timestamp: new Date(time),
      severityNumber: SeverityNumber[severity],
      severityText: severity,
      body: msg ?? '',
      attributes,
      context: contextOf(traceId, spanId),
    })
  })
  return () => {
    stop()
    return provider.shutdown()
  }
}

function contextOf(traceId: string | undefined, spanId: string | undefined) {
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED })
}
