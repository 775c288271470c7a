import { z } from 'zod'
import { diffContent } from '../../core/catalog/review/diff.ts'
import { HOLD_ADVICE, platformNames } from '../../core/catalog/review/impersonation.ts'
import type { Review, ReviewRules } from '../../core/catalog/review/versions.ts'

const time = z.iso.datetime()

/** Rules by which new versions are reviewed. */
export const reviewRules = (deps: {
  readonly approval: boolean
  readonly proxyUrl: () => string
}): ReviewRules => ({
  approval: deps.approval,
  platformNames: platformNames(deps.proxyUrl()),
})

/** Versions of what callers see and send, for providers and administrators. */
export const ReviewView = z.object({
  approved_version: z.int().nullable().meta({ description: 'Seen by callers.' }),
  waiting: z
    .object({
      version: z.int(),
      since: time,
      held: z.array(z.string()).meta({
        description: 'Why its texts need a review even without HUB_APPROVAL.',
      }),
      advice: z.string().nullable().meta({ description: 'What the provider can do if held.' }),
      changes: z
        .array(
          z.object({ at: z.string(), before: z.string().nullable(), after: z.string().nullable() }),
        )
        .meta({ description: 'Differences from the approved version; all if there is none.' }),
    })
    .nullable()
    .meta({ description: 'Newer version that awaits approval.' }),
  refused: z
    .object({ version: z.int(), reason: z.string(), at: time })
    .nullable()
    .meta({ description: 'Refusal of the newest version.' }),
})
export type ReviewJson = z.infer<typeof ReviewView>

export const showReview = ({ approved, waiting, refused }: Review): ReviewJson => ({
  approved_version: approved?.version ?? null,
  waiting: waiting
    ? {
        version: waiting.version,
        since: waiting.createdAt.toISOString(),
        held: [...waiting.held],
        advice: waiting.held.length > 0 ? HOLD_ADVICE : null,
        changes: [...diffContent(approved?.content ?? {}, waiting.content)],
      }
    : null,
  refused: refused ? { ...refused, at: refused.at.toISOString() } : null,
})
