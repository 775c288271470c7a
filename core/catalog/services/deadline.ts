/** Seconds until a call is given up, where its endpoint does not say. */
export const DEADLINE_SECONDS = 30

/** Seconds until a call of this endpoint is given up. */
export const deadlineOf = ({
  deadlineSeconds = DEADLINE_SECONDS,
}: {
  readonly deadlineSeconds?: number | undefined
}): number => deadlineSeconds
