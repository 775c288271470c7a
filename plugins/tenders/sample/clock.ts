/** Instant that the samples were written for; they are always shown as of it. */
export const SAMPLE_NOW = new Date('2026-06-10T08:00:00Z')
