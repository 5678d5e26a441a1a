import { httpFunction } from '#shared/platform/aws/http-function.ts'

/** Answers what no endpoint takes: an unknown path with 404, a method that a path lacks with 405. */
export const handler = httpFunction([])
