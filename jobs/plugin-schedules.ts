import { refreshListing } from '../core/catalog/services/catalog.ts'
import type { AnyService, Schedule } from '../core/plugin/index.ts'
import type { Job, JobPorts } from './index.ts'

/** What a run gets to end by itself after it was told to. */
const GRACE_SECONDS = 60
const LISTING_SECONDS = 30

/** Schedules of plugins, as jobs: `<slug or family>/<name>`; and what becomes of listings. */
export const pluginJobs = ({
  services,
  families,
}: Pick<JobPorts, 'services' | 'families'>): Readonly<Record<string, Job>> =>
  Object.fromEntries([
    ...families.flatMap(({ family, schedules }) => scheduled(family, schedules)),
    ...services.flatMap((service) => [
      ...scheduled(service.slug, service.schedules),
      ...(service.isListed ? [[`${service.slug}/listing`, listing(service)] as const] : []),
    ]),
  ])

const scheduled = (owner: string, schedules: AnyService['schedules'] = {}) =>
  Object.entries(schedules).map(
    ([name, schedule]) => [`${owner}/${name}`, jobOf(schedule)] as const,
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
