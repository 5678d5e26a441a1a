import type { Stage } from './stage.ts'

/** Where a stage counts its errors by code (see shared/platform/logging/embedded-metric.ts). */
export function metricsNamespace({ name }: Stage): string {
  return `commerce-${name}`
}
