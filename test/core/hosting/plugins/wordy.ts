import { defineService, type Host, s, usd } from 'agenthub/plugin'

const LONG = 9 * 1_048_576

/** Plugin that sends oversized messages. */
export default ({ http, log }: Host) => {
  const endpoint = (handle: () => unknown) => ({
    summary: 'Says much.',
    price: usd('0.001'),
    input: s.object({}),
    handle,
  })
  return defineService({
    slug: 'wordy',
    name: 'Wordy',
    category: 'test',
    summary: 'Says much.',
    provider: 'example',
    endpoints: {
      'POST /waits': endpoint(() => new Promise(() => {})),
      'POST /characters': endpoint(() => 'ü'.repeat(LONG / 2)),
      'POST /logs': endpoint(() => (log('x'.repeat(LONG)), { ok: true })),
      'POST /asks': endpoint(async () => {
        const request = { url: 'https://example.com', method: 'POST', maxBytes: 1 }
        return http.request({ ...request, body: 'x'.repeat(LONG) })
      }),
    },
  })
}
