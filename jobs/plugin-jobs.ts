import { refreshServiceState } from '../core/catalog/services/catalog.ts'
import type { AnyService, Schedule } from '../core/plugin/index.ts'
import type { Job, JobDeps } from './job.ts'

/** Maximum time for a run to stop after its deadline has aborted it. */
const GRACE_SECONDS = 60
const LISTING_SECONDS = 30

/** Jobs of plugins: `<slug or family>/<schedule>`, and `<slug>/listing` to list or unlist it. */
export const pluginJobs = ({
  services,
  families,
}: Pick<JobDeps, 'services' | 'families'>): Readonly<Record<string, Job>> =>
  Object.fromEntries([
    ...families.flatMap(({ family, schedules }) => scheduledJobs(family, schedules)),
    ...services.flatMap((service) => [
      ...scheduledJobs(service.slug, service.schedules),
      ...(service.isListed ? [[`${service.slug}/listing`, listingJob(service)] as const] : []),
    ]),
  ])

const scheduledJobs = (owner: string, schedules: AnyService['schedules'] = {}) =>
  Object.entries(schedules).map(
    ([name, schedule]) => [`${owner}/${name}`, toJob(schedule)] as const,
  )

const toJob = ({ everySeconds, deadlineSeconds = 300, run }: Schedule): Job => ({
  everySeconds,
  deadlineSeconds: deadlineSeconds + GRACE_SECONDS,
  run: (_, stopping) =>
    run(AbortSignal.any([stopping, AbortSignal.timeout(deadlineSeconds * 1_000)])),
})

const listingJob = (service: AnyService): Job => ({
  everySeconds: LISTING_SECONDS,
  run: ({ pool }) => refreshServiceState(pool, service),
})
