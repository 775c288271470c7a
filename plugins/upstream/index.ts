import type { Host } from 'agenthub/plugin'
import { probeDue } from './probe.ts'
import { soldOf } from './service.ts'

/** Upstreams: one service per imported HTTP API, created while the hub runs. */
export default ({ upstreams, log }: Host) => {
  if (!upstreams) throw new Error('no upstreams were injected into the upstream plugin')
  return {
    family: 'upstream',
    find: async (slug: string) => soldOf(await upstreams.find(slug)),
    list: async (after: string) => (await upstreams.list(after)).map((each) => soldOf(each)),
    preview: async (slug: string) => soldOf(await upstreams.preview(slug)),
    schedules: {
      probe: { everySeconds: 15, deadlineSeconds: 120, run: () => probeDue(upstreams) },
      retire: { everySeconds: 60, run: () => upstreams.retireDue() },
      reseal: {
        everySeconds: 60,
        run: async () => {
          const count = await upstreams.reseal()
          if (count > 0) log('secrets were encrypted anew', { count })
        },
      },
    },
  }
}
