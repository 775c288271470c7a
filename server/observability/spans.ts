import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { sinceEpoch } from '../../core/clock.ts'
import type { Collector } from './collector.ts'
import type { Trace } from './trace.ts'

/** Facts known when a request is complete. */
export interface CompletedRequest {
  readonly method: string
  readonly status: number
  /** The caller's header (W3C Trace Context). */
  readonly traceparent: string | undefined
  readonly end: number
}

export interface RecordedSpan {
  readonly ids: { readonly trace: string; readonly span: string }
  /** False if the caller asked not to export its trace. */
  readonly isSampled: boolean
}

/** Creates spans of completed requests; costs nothing while they run. */
export interface Spans {
  /** Records a request and its steps. */
  record(request: Trace, ended: CompletedRequest): RecordedSpan
  /** Sends pending spans and closes the exporter. */
  close(): Promise<void>
}

/** Opens an exporter of spans. The caller's `traceparent` decides sampling. */
export async function openSpans({ url, resource, version }: Collector): Promise<Spans> {
  const [{ TracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces` })
  const provider = new TracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('agenthub', version)
  return {
    record(request, { method, status, traceparent, end: until }) {
      const attributes = {
        'http.request.method': method,
        'http.route': request.route,
        'http.response.status_code': status,
        ...(request.service !== undefined && { 'hub.service': request.service }),
        ...(request.keyId !== undefined && { 'hub.key_id': request.keyId }),
      }
      const parent = parentOf(traceparent)
      const startTime = sinceEpoch(request.startedAt)
      const kind = SpanKind.SERVER
      const name = `${method} ${request.route}`
      const span = tracer.startSpan(name, { kind, startTime, attributes }, parent)
      const requestContext = trace.setSpan(ROOT_CONTEXT, span)
      for (const step of request.steps) {
        const from = { startTime: sinceEpoch(step.start) }
        tracer.startSpan(step.name, from, requestContext).end(sinceEpoch(step.end))
      }
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(sinceEpoch(until))
      const { traceId, spanId, traceFlags } = span.spanContext()
      const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0
      return { ids: { trace: traceId, span: spanId }, isSampled }
    },
    close: () => provider.shutdown(),
  }
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Parses the parent span. A malformed header starts a new trace. */
function parentOf(traceparent: string | undefined) {
  const [, traceId, spanId, flags = '00'] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
