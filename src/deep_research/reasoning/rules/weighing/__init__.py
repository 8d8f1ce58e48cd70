"""Weighing evidence by rules: figures that agree or differ, how strong a section is, series worth a chart."""
