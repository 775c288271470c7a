import { refreshListing } from '../core/catalog/services.ts'
import type { AnyService, Schedule } from '../core/plugin.ts'
import type { Job } from './index.ts'

/** What a run gets to end by itself after it was told to. */
const GRACE_SECONDS = 60
const LISTING_SECONDS = 30

/** The schedules that services declare, as jobs: `<slug>/<name>`; and what becomes of listings. */
export const pluginJobs = (services: readonly AnyService[]): Readonly<Record<string, Job>> =>
  Object.fromEntries(
    services.flatMap((service) => [
      ...Object.entries(service.schedules ?? {}).map(
        ([name, schedule]) => [`${service.slug}/${name}`, jobOf(schedule)] as const,
      ),
      ...(service.isListed ? [[`${service.slug}/listing`, listing(service)] as const] : []),
    ]),
  )

const jobOf = ({ everySeconds, deadlineSeconds = 300, run }: Schedule): Job => ({
  everySeconds,
  deadlineSeconds: deadlineSeconds + GRACE_SECONDS,
  run: (_, stopping) =>
    run(AbortSignal.any([stopping, AbortSignal.timeout(deadlineSeconds * 1_000)])),
})

const listing = (service: AnyService): Job => ({
  everySeconds: LISTING_SECONDS,
  run: ({ pool }) => refreshListing(pool, service),
})
