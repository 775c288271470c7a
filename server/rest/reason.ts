import { z } from 'zod'

/** Why somebody decides something: it stands in the audit log, for ever. */
export const reason = z
  .string()
  .trim()
  .min(1, 'say why')
  .max(500)
  .meta({ description: 'Why; it stands in the audit log.' })
