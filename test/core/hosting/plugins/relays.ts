import { type Host, Reply, s, usd } from 'agenthub/plugin'

/** Plugin that streams what another host streams. */
export default ({ http }: Host) => ({
  slug: 'relays',
  name: 'Relays',
  category: 'test',
  summary: 'Relays.',
  provider: 'me',
  endpoints: {
    'POST /relay': {
      summary: 'Relays.',
      price: usd('0.001'),
      input: s.object({ url: s.string() }),
      streams: true,
      handle: async ({
        input,
        signal,
      }: {
        readonly input: { readonly url: string }
        readonly signal: AbortSignal
      }) => {
        const request = { url: input.url, method: 'GET', streams: 'at-once' as const, signal }
        const { status, stream } = await http.request(request)
        return new Reply(stream, { status, headers: { 'content-type': 'text/plain' } })
      },
    },
  },
})
