-- Placeholder: whoever was given this number replaces this file by the real migration (git rm it, or rename).
SELECT 1;
