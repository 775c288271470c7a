import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { clientAddress } from '../../../server/observability/observe.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { startTestHub, type TestHub } from '../../support/hub.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

interface LogRecord {
  readonly severityText: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly Attribute[]
  readonly traceId?: string
  readonly spanId?: string
}

interface Metric {
  readonly name: string
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly DataPoint[] }
  readonly gauge?: { readonly dataPoints: readonly DataPoint[] }
  readonly histogram?: { readonly dataPoints: readonly DataPoint[] }
}

interface DataPoint {
  readonly attributes: readonly Attribute[]
  readonly asDouble?: number
  readonly count?: number
  readonly sum?: number
  readonly explicitBounds?: readonly number[]
  readonly bucketCounts?: readonly number[]
}

/** Requests to a collector (OTLP as JSON). */
interface Export {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: Span[] }[] }[]
  readonly resourceLogs?: readonly {
    readonly scopeLogs: readonly { readonly logRecords: LogRecord[] }[]
  }[]
  readonly resourceMetrics?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeMetrics: readonly { readonly metrics: Metric[] }[]
  }[]
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
/** Header of a Prometheus that prefers OpenMetrics. */
const SCRAPE = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3'
const STEPS = ['authenticate', 'limit', 'quote', 'fund', 'handle', 'settle', 'respond']

describe('telemetry', () => {
  realSockets()
  const spans: Span[] = []
  const records: LogRecord[] = []
  const metrics: Metric[] = []
  const instances = new Set<string | undefined>()
  let collector: Server
  let hub: TestHub
  let key: string
  let openMetrics: ApiResponse

  const say = (headers: Readonly<Record<string, string>>) =>
    ask(hub.url, '/proxy/echo/say', { key, headers, body: { words: 'a' } })

  before(async () => {
    collector = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      request.once('end', () => {
        const {
          resourceSpans = [],
          resourceLogs = [],
          resourceMetrics = [],
        }: Export = JSON.parse(text)
        const sent = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
        spans.push(...sent.flatMap((each) => each.spans))
        const lines = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs)
        records.push(...lines.flatMap((each) => each.logRecords))
        const measured = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics)
        metrics.push(...measured.flatMap((each) => each.metrics))
        for (const { resource } of resourceMetrics)
          instances.add(valueOf(resource.attributes, 'service.instance.id'))
        response.setHeader('content-type', 'application/json').end('{}')
      })
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => collector.once('listening', resolve))
    const { port } = collector.address() as AddressInfo
    hub = await startTestHub({ config: { otlpEndpoint: `http://127.0.0.1:${port}` } })
    const { apiKey, keyId } = await hub.agent()
    await hub.credit(keyId, usd('1'))
    key = apiKey
  })
  after(async () => {
    collector.closeAllConnections()
    collector.close()
  })

  it('has a span of each step below that of the call, below that of the caller', async () => {
    const { status, headers } = await say({ traceparent: `00-${TRACE}-${PARENT}-01` })
    expect(status).to.equal(200)
    const timing = String(headers['server-timing'])
    expect(timing.split(', ').map((part) => part.split(';')[0])).to.deep.equal(STEPS)
    for (const part of timing.split(', ')) expect(part).to.match(/^\w+;dur=\d+\.\d\d$/)

    await say({ traceparent: `00-${TRACE}-${'1'.repeat(16)}-00` }) // not sampled
    await say({ traceparent: 'nonsense' })
    openMetrics = await ask(hub.url, '/metrics', { headers: { accept: SCRAPE } })
    await hub.close() // flushes pending spans

    const root = spans.find(({ parentSpanId }) => parentSpanId === PARENT)
    expect(root).to.include({ traceId: TRACE, name: 'POST /proxy/{slug}' })
    const steps = spans.filter(({ parentSpanId }) => parentSpanId === root!.spanId)
    expect(steps.map(({ name }) => name)).to.deep.equal(STEPS)
    for (const { traceId, startTimeUnixNano, endTimeUnixNano } of steps) {
      expect(traceId).to.equal(TRACE)
      expect(BigInt(startTimeUnixNano) >= BigInt(root!.startTimeUnixNano)).to.equal(true)
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).to.equal(true)
      expect(BigInt(endTimeUnixNano) <= BigInt(root!.endTimeUnixNano)).to.equal(true)
    }
    expect(spans.filter(({ parentSpanId }) => parentSpanId === '1'.repeat(16))).to.deep.equal([])
    const alone = spans.filter((span) => span.name === 'POST /proxy/{slug}' && !span.parentSpanId)
    expect(alone, 'the one that named no parent').to.have.length(1)
    expect(hub.logged(), 'a line of log finds its trace').to.include(`"trace":"${TRACE}"`)
    const [line = '{}'] = hub
      .logged()
      .split('\n')
      .filter((each) => each.includes(TRACE))
    expect(JSON.parse(line)).to.include({ client: '127.0.0.1', pid: process.pid })
  })

  it('has the log, each line of a request with the ids of its trace and span', () => {
    const root = spans.find(({ parentSpanId }) => parentSpanId === PARENT)
    const record = records.find(({ traceId }) => traceId === TRACE)
    expect(record).to.include({ severityText: 'INFO', spanId: root!.spanId })
    expect(record!.body.stringValue).to.equal('request')
    expect(valueOf(record!.attributes, 'client')).to.equal('127.0.0.1')
    expect(JSON.stringify(records), 'the key').not.to.include(key)
  })

  it('has the metrics of the process, histograms with what each bucket alone counted', () => {
    const metric = (name: string) => metrics.find((each) => each.name === name)
    const pointOf = (points: readonly DataPoint[] | undefined, label: string, value: string) =>
      points?.find(({ attributes }) => valueOf(attributes, label) === value)
    const requests = metric('hub_http_requests_total')?.sum
    expect(requests?.isMonotonic).to.equal(true)
    const calls = pointOf(requests?.dataPoints, 'route', '/proxy/{slug}')
    expect(calls?.asDouble).to.equal(3)
    const durations = pointOf(metric('hub_call_seconds')?.histogram?.dataPoints, 'service', 'echo')
    expect(durations?.count).to.equal(3)
    const { bucketCounts = [], explicitBounds = [] } = durations!
    expect(bucketCounts).to.have.length(explicitBounds.length + 1)
    expect(bucketCounts.reduce((sum, count) => sum + count, 0)).to.equal(3)
    expect(durations!.sum).to.be.within(0.000_1, 60)
    expect(metric('process_resident_memory_bytes')?.gauge?.dataPoints[0]?.asDouble).to.be.above(1e7)
    expect([...instances]).to.deep.equal([`${hostname()}-${process.pid}`])
  })

  it('has exemplars that lead from the duration of a call to its trace, in OpenMetrics', () => {
    const { headers, text } = openMetrics
    expect(headers['content-type']).to.match(/^application\/openmetrics-text; version=1\.0\.0/)
    expect(text)
      .to.match(/\n# EOF\n$/)
      .and.not.include('\n\n')
    expect(text).to.include('# TYPE hub_http_requests counter\n')
    expect(text).to.match(/^hub_http_requests_total\{.*\} \d+$/m)
    const alone = spans.find((span) => span.name === 'POST /proxy/{slug}' && !span.parentSpanId)
    const exemplar = /^hub_call_seconds_bucket\{le="([^"]+)",service="echo"\} \d+ # (.+)$/gm
    const found = [...text.matchAll(exemplar)].map(([, bound, measured = '']) => {
      const [, trace, value] = /^\{trace_id="(\w+)"\} (\S+) \d+(?:\.\d+)?$/.exec(measured) ?? []
      expect(Number(value)).to.be.at.most(bound === '+Inf' ? 60 : Number(bound))
      return trace
    })
    expect(found).to.have.length.within(1, 2)
    for (const trace of found) expect([TRACE, alone!.traceId]).to.include(trace)
  })

  it('has log lines with the address that trusted proxies added', () => {
    const from = (forwarded: string | undefined, proxies: number) =>
      clientAddress(
        {
          socket: { remoteAddress: '10.0.0.1' },
          headers: { 'x-forwarded-for': forwarded },
        } as never,
        proxies,
      )
    expect(from('198.51.100.7, 203.0.113.9', 0)).to.equal('10.0.0.1')
    expect(from('198.51.100.7, 203.0.113.9', 1)).to.equal('203.0.113.9')
    expect(from('198.51.100.7, 203.0.113.9', 2)).to.equal('198.51.100.7')
    expect(from(undefined, 1)).to.equal('10.0.0.1')
  })
})

const valueOf = (attributes: readonly Attribute[], name: string): string | undefined =>
  attributes.find(({ key }) => key === name)?.value.stringValue
