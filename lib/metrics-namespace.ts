import type { Stage } from './stage.ts'

/** Returns the namespace of a stage's error counts (see shared/platform/base/embedded-metric.ts). */
export function metricsNamespace({ name }: Stage): string {
  return `commerce-${name}`
}
