import { type DueProbe, EgressError, type Health, type Upstreams } from 'agenthub/plugin'

const TIMEOUT_MS = 10_000

/** Sends a GET without credentials. Any response means up, except 5xx. */
export async function probeDue(upstreams: Pick<Upstreams, 'due' | 'noteHealth'>): Promise<void> {
  const due = await upstreams.due()
  await Promise.all(due.map(async (each) => upstreams.noteHealth(each.slug, await healthOf(each))))
}

async function healthOf({ url, way }: DueProbe): Promise<Health> {
  const start = performance.now()
  const took = (): number => Math.round(performance.now() - start)
  try {
    const timeouts = { totalMs: TIMEOUT_MS }
    const { status } = await way.request({ url, method: 'GET', timeouts })
    return { up: status < 500, latencyMs: took(), detail: `status ${status}` }
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const { code, response } = error
    // A redirect or an oversized body is a response too.
    const up = response !== undefined && response.status < 500
    return { up, latencyMs: took(), detail: up ? `status ${response.status}` : code }
  }
}
